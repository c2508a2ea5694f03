package loomlab.webflux.grpc;

import java.util.function.Supplier;

import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.ManagedChannel;
import lab.hello.HelloGrpc;
import lab.hello.HelloReply;
import lab.hello.HelloRequest;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** One unary call; no thread waits for its answer. */
@RestController
class GrpcController {

    private final HelloGrpc.HelloFutureStub hello;

    GrpcController(ManagedChannel channel) {
        this.hello = HelloGrpc.newFutureStub(channel);
    }

    @GetMapping("/grpc")
    Mono<String> grpc() {
        HelloRequest request = HelloRequest.newBuilder().setName("loom").build();
        return mono(() -> hello.say(request)).map(HelloReply::getMessage);
    }

    /** Calls at subscription, and gives the call up when the client is gone. */
    private static <T> Mono<T> mono(Supplier<ListenableFuture<T>> call) {
        return Mono.create(sink -> {
            ListenableFuture<T> answer = call.get();
            sink.onCancel(() -> answer.cancel(true));
            Futures.addCallback(answer, new FutureCallback<>() {

                @Override
                public void onSuccess(T value) {
                    sink.success(value);
                }

                @Override
                public void onFailure(Throwable failure) {
                    if (!answer.isCancelled()) {
                        sink.error(failure);
                    }
                }
            }, MoreExecutors.directExecutor());
        });
    }
}
