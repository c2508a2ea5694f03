package downstream

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// grpcServer is the unary service lab.Hello, with a delay of its own. Its
// hello.proto lies where the build of a client needs it, in
// testdata/apps/grpc/src/main/proto.
type grpcServer struct {
	server   *grpc.Server
	ln       net.Listener
	delay    time.Duration
	requests atomic.Int64
	inFlight atomic.Int64
}

// Both messages of hello.proto are one string in field 1, just as protobuf's own
// StringValue: the bytes are the same, and no generated code is needed.
type helloMessage = wrapperspb.StringValue

// helloService describes lab.Hello as protoc-gen-go-grpc would.
var helloService = grpc.ServiceDesc{
	ServiceName: "lab.Hello",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: sayHandler}},
	Metadata:    "hello.proto",
}

func sayHandler(service any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	request := new(helloMessage)
	if err := decode(request); err != nil {
		return nil, err
	}
	return service.(*grpcServer).say(ctx, request)
}

func newGRPC(addr string, delay time.Duration) (*grpcServer, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for gRPC: %w", err)
	}
	g := &grpcServer{server: grpc.NewServer(), ln: ln, delay: delay}
	g.server.RegisterService(&helloService, g)
	return g, nil
}

// say answers after the delay, or not at all if the client gives up first.
func (g *grpcServer) say(ctx context.Context, request *helloMessage) (*helloMessage, error) {
	g.requests.Add(1)
	g.inFlight.Add(1)
	defer g.inFlight.Add(-1)
	if g.delay > 0 {
		timer := time.NewTimer(g.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return wrapperspb.String("Hello, " + request.GetValue()), nil
}

func (g *grpcServer) serve() error { return g.server.Serve(g.ln) }

func (g *grpcServer) stop() {
	g.server.Stop()
	g.ln.Close() // for a server that was never served
}
