package loomlab.webflux.data;

import loomlab.data.UserIds;
import loomlab.data.UserOrders;
import loomlab.webflux.DelayClient;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

@RestController
@RequestMapping("/db")
@ConditionalOnProperty("spring.r2dbc.url")
class DatabaseController {

    private final UserRepository users;
    private final UserIds ids;
    private final DelayClient delays;

    DatabaseController(UserRepository users, UserIds ids, DelayClient delays) {
        this.users = users;
        this.ids = ids;
        this.delays = delays;
    }

    @GetMapping("/light")
    Mono<String> light() {
        return users.name(ids.any());
    }

    /** A query, then two calls of the downstream, one after the other: about 280 ms together. */
    @GetMapping("/heavy")
    Mono<UserOrders> heavy() {
        return users.orders(ids.any())
                .flatMap(orders -> delays.after(140).then(delays.after(140)).thenReturn(orders));
    }
}
