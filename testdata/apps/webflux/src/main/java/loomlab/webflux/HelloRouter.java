package loomlab.webflux;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

@Configuration(proxyBeanMethods = false)
class HelloRouter {

    @Bean
    RouterFunction<ServerResponse> hello() {
        return RouterFunctions.route()
                .GET("/hello", request -> ServerResponse.ok().contentType(MediaType.TEXT_PLAIN).bodyValue("hello"))
                .build();
    }
}
