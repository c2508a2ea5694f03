package loomlab.webflux.data;

import loomlab.data.Queries;
import loomlab.data.UserOrders;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Repository;
import reactor.core.publisher.Mono;

@Repository
@ConditionalOnProperty("spring.r2dbc.url")
class UserRepository {

    private final DatabaseClient database;

    UserRepository(DatabaseClient database) {
        this.database = database;
    }

    Mono<String> name(long id) {
        return database.sql(Queries.NAME_AFTER_8_MS).bind("id", id).mapValue(String.class).one();
    }

    Mono<UserOrders> orders(long id) {
        return database.sql(Queries.ORDERS_OF_USER).bind("id", id).mapProperties(UserOrders.class).one();
    }
}
