package loomlab.mvc;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.web.client.RestClient;

@SpringBootApplication(scanBasePackages = "loomlab")
public class MvcApplication {

    public static void main(String[] args) {
        SpringApplication.run(MvcApplication.class, args);
    }

    /** Only the auto-configured builder gives the JDK client virtual threads when they are enabled. */
    @Bean
    RestClient downstream(RestClient.Builder builder, @Value("${lab.downstream}") String url) {
        return builder.baseUrl(url).build();
    }
}
