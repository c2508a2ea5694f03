package loomlab.mvc.data;

import java.sql.SQLException;
import java.util.Map;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import loomlab.lab.Facts;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** HikariCP's limits as they are in force. */
@Component
@ConditionalOnProperty("spring.datasource.url")
class PoolFacts implements Facts {

    private final DataSource source;

    PoolFacts(DataSource source) {
        this.source = source;
    }

    @Override
    public Map<String, String> facts() {
        try {
            HikariDataSource pool = source.unwrap(HikariDataSource.class);
            return Map.of(
                    "db_pool", String.valueOf(pool.getMaximumPoolSize()),
                    "db_pool_timeout_ms", String.valueOf(pool.getConnectionTimeout()));
        } catch (SQLException notHikari) {
            return Map.of();
        }
    }
}
