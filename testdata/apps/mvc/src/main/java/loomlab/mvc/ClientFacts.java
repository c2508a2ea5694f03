package loomlab.mvc;

import java.net.http.HttpClient;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

import loomlab.lab.Facts;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;

/**
 * "RestClient" is five clients: which one it is depends on the classpath. This
 * looks into the one in use, where Spring has no getter, rather than trust the
 * configuration.
 */
@Component
class ClientFacts implements Facts {

    private final RestClient downstream;

    ClientFacts(RestClient downstream) {
        this.downstream = downstream;
    }

    @Override
    public Map<String, String> facts() {
        Map<String, String> facts = new TreeMap<>();
        Object factory = field(downstream, "clientRequestFactory");
        facts.put("client_factory", factory.getClass().getSimpleName());
        if (factory instanceof JdkClientHttpRequestFactory) {
            HttpClient client = (HttpClient) field(factory, "httpClient");
            facts.put("client_http_version", client.version().name());
            facts.put("client_executor", client.executor().map(e -> e.getClass().getSimpleName()).orElse("default"));
            facts.put("client_virtual", String.valueOf(client.executor().map(ClientFacts::isVirtual).orElse(false)));
            facts.put("client_connect_timeout", client.connectTimeout().map(Object::toString).orElse("none"));
            facts.put("client_read_timeout", String.valueOf(field(factory, "readTimeout")));
        }
        return facts;
    }

    private static Object field(Object owner, String name) {
        return new DirectFieldAccessor(owner).getPropertyValue(name);
    }

    private static boolean isVirtual(Executor executor) {
        return CompletableFuture.supplyAsync(() -> Thread.currentThread().isVirtual(), executor).join();
    }
}
