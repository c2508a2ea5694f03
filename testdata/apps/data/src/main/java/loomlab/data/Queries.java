package loomlab.data;

/** The statements, the same for JDBC and R2DBC: Spring takes named parameters in both. */
public final class Queries {

    /** One row by its key, and 8 ms in which the database holds the connection but no processor. */
    public static final String NAME_AFTER_8_MS = "select name from users, pg_sleep(0.008) where id = :id";

    public static final String ORDERS_OF_USER = """
            select u.name,
                   count(o.id) as orders,
                   coalesce(sum(o.amount), 0) as total,
                   coalesce(avg(o.amount) filter (where o.status = 'PAID'), 0) as average_paid,
                   max(o.created_at) as latest
            from users u
            left join orders o on o.user_id = u.id
            where u.id = :id
            group by u.id, u.name""";

    private Queries() {
    }
}
