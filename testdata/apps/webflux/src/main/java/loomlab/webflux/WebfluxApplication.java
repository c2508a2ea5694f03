package loomlab.webflux;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.http.client.reactive.ClientHttpConnectorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

@SpringBootApplication(scanBasePackages = "loomlab")
@EnableConfigurationProperties(ServerOptions.class)
public class WebfluxApplication {

    public static void main(String[] args) {
        SpringApplication.run(WebfluxApplication.class, args);
    }

    /** Reactor Netty's own pool has 500 connections and 1000 waiting: a ceiling of 5000/s at 100 ms. */
    @Bean(destroyMethod = "dispose")
    ConnectionProvider pool(@Value("${lab.client.pool}") int connections, @Value("${lab.client.pending}") int pending) {
        return ConnectionProvider.builder("lab").maxConnections(connections).pendingAcquireMaxCount(pending).build();
    }

    @Bean
    ClientHttpConnectorBuilder<?> connector(ConnectionProvider pool) {
        return ClientHttpConnectorBuilder.reactor().withHttpClientFactory(() -> HttpClient.create(pool));
    }

    @Bean
    WebClient downstream(WebClient.Builder builder, @Value("${lab.downstream}") String url) {
        return builder.baseUrl(url).build();
    }
}
