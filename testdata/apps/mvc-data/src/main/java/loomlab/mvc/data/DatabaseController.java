package loomlab.mvc.data;

import loomlab.data.UserIds;
import loomlab.data.UserOrders;
import loomlab.mvc.DelayClient;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/db")
@ConditionalOnProperty("spring.datasource.url")
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
    String light() {
        return users.name(ids.any());
    }

    /** A query, then two calls of the downstream, one after the other: about 280 ms together. */
    @GetMapping("/heavy")
    UserOrders heavy() {
        UserOrders orders = users.orders(ids.any());
        delays.after(140);
        delays.after(140);
        return orders;
    }
}
