package loomlab.mvc.grpc;

import io.grpc.ManagedChannel;
import lab.hello.HelloGrpc;
import lab.hello.HelloRequest;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** One unary call; the request's thread, platform or virtual, waits for its answer. */
@RestController
class GrpcController {

    private final HelloGrpc.HelloBlockingStub hello;

    GrpcController(ManagedChannel channel) {
        this.hello = HelloGrpc.newBlockingStub(channel);
    }

    @GetMapping("/grpc")
    String grpc() {
        return hello.say(HelloRequest.newBuilder().setName("loom").build()).getMessage();
    }
}
