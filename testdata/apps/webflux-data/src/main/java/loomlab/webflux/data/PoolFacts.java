package loomlab.webflux.data;

import java.util.Map;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.spi.ConnectionFactory;
import loomlab.lab.Facts;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** The limits of R2DBC's pool as they are in force. */
@Component
@ConditionalOnProperty("spring.r2dbc.url")
class PoolFacts implements Facts {

    private final ConnectionFactory factory;

    PoolFacts(ConnectionFactory factory) {
        this.factory = factory;
    }

    @Override
    public Map<String, String> facts() {
        if (!(factory instanceof ConnectionPool pool)) {
            return Map.of();
        }
        return pool.getMetrics()
                .map(metrics -> Map.of("db_pool", String.valueOf(metrics.getMaxAllocatedSize())))
                .orElse(Map.of());
    }
}
