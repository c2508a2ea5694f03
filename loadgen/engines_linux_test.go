package loadgen

var engines = []string{"epoll", "portable"}
