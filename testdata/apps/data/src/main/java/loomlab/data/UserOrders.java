package loomlab.data;

import java.math.BigDecimal;
import java.time.OffsetDateTime;

/** The row of {@link Queries#ORDERS_OF_USER}; latest is null for a user without orders. */
public record UserOrders(String name, long orders, BigDecimal total, BigDecimal averagePaid, OffsetDateTime latest) {
}
