package loomlab.grpc;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The connection to lab.Hello at lab.grpc (host:port). It is made by the first call. */
@Configuration(proxyBeanMethods = false)
class GrpcConfiguration {

    /** Answers are handed over on Netty's thread: what waits for them, a blocking stub or a Mono, never blocks there. */
    @Bean(destroyMethod = "shutdownNow")
    ManagedChannel helloChannel(@Value("${lab.grpc:127.0.0.1:9090}") String target) {
        return ManagedChannelBuilder.forTarget(target).usePlaintext().directExecutor().build();
    }
}
