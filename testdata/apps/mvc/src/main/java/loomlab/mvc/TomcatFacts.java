package loomlab.mvc;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

import loomlab.lab.Facts;
import org.apache.catalina.util.ServerInfo;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.springframework.stereotype.Component;

/** Tomcat's limits as they are in force. */
@Component
class TomcatFacts implements Facts {

    private final TomcatConnector connector;

    TomcatFacts(TomcatConnector connector) {
        this.connector = connector;
    }

    @Override
    public Map<String, String> facts() {
        AbstractHttp11Protocol<?> http = connector.protocol();
        boolean virtual = CompletableFuture.supplyAsync(
                () -> Thread.currentThread().isVirtual(), http.getExecutor()).join();
        return Map.of(
                "server", ServerInfo.getServerInfo(),
                "server_executor", http.getExecutor().getClass().getSimpleName(),
                "server_virtual", String.valueOf(virtual),
                "tomcat_max_threads", virtual ? "unlimited" : String.valueOf(http.getMaxThreads()),
                "tomcat_max_connections", String.valueOf(http.getMaxConnections()),
                "tomcat_accept_count", String.valueOf(http.getAcceptCount()),
                "tomcat_keep_alive_requests", String.valueOf(http.getMaxKeepAliveRequests()),
                "tomcat_keep_alive_ms", String.valueOf(http.getKeepAliveTimeout()));
    }
}
