package loomlab.mvc.data;

import loomlab.data.Queries;
import loomlab.data.UserOrders;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

@Repository
@ConditionalOnProperty("spring.datasource.url")
class UserRepository {

    private final JdbcClient jdbc;

    UserRepository(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    String name(long id) {
        return jdbc.sql(Queries.NAME_AFTER_8_MS).param("id", id).query(String.class).single();
    }

    UserOrders orders(long id) {
        return jdbc.sql(Queries.ORDERS_OF_USER).param("id", id).query(UserOrders.class).single();
    }
}
