package downstream

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// helloFile is hello.proto as protoc would compile it: the client's side
// of the test shares no type with the server.
func helloFile(t *testing.T) (request, reply protoreflect.MessageDescriptor) {
	t.Helper()
	message := func(name, field string) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: proto.String(name), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String(field), Number: proto.Int32(1), JsonName: proto.String(field),
			Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("hello.proto"), Package: proto.String("lab"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{message("HelloRequest", "name"), message("HelloReply", "message")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().ByName("HelloRequest"), file.Messages().ByName("HelloReply")
}

func TestGRPC(t *testing.T) {
	const delay = 40 * time.Millisecond
	s := start(t, Config{GRPC: "127.0.0.1:0", GRPCDelay: delay, Delay: time.Hour})
	conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	requestType, replyType := helloFile(t)
	request, reply := dynamicpb.NewMessage(requestType), dynamicpb.NewMessage(replyType)
	request.Set(requestType.Fields().ByName("name"), protoreflect.ValueOfString("Loom"))
	for range 2 { // the first one also connects
		sent := time.Now()
		if err := conn.Invoke(ctx, "/lab.Hello/Say", request, reply); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(sent); took < delay {
			t.Errorf("answered after %v", took)
		}
		if got := reply.Get(replyType.Fields().ByName("message")).String(); got != "Hello, Loom" {
			t.Errorf("got %q", got)
		}
	}
	if st := s.Stats(); st.GRPCRequests != 2 || st.GRPCInFlight != 0 || st.Requests != 0 {
		t.Errorf("account: %+v", st)
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	if err := conn.Invoke(short, "/lab.Hello/Say", wrapperspb.String("x"), reply); err == nil {
		t.Error("an answer came before its delay")
	}
}
