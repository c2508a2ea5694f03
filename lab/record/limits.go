package record

// Names of the rows of the limits table, [Run.Limits]. Defaults are the
// commonest hidden limits (METHOD rule 16), and a difference in what is not the
// subject spoils a comparison (rule 15), so they stand side by side for all SUTs.
const (
	LimitWorkers        = "worker threads"
	LimitCarriers       = "carrier threads"
	LimitLoops          = "event loops"
	LimitMaxConnections = "max connections"
	LimitAccept         = "accept queue"
	LimitKeepAlive      = "requests per connection"
	LimitKeepAliveMS    = "keep-alive, ms"
	LimitClientPool     = "client pool"
	LimitClientPending  = "client pending"
	LimitDBPool         = "db pool"
	LimitServer         = "server"
	LimitClient         = "client"
	LimitClientVersion  = "client HTTP version"
	LimitClientExecutor = "client executor"
	LimitTransport      = "transport"
	LimitAllocator      = "allocator"
	LimitHeap           = "heap, MB"
	LimitCollector      = "collector"
	LimitJDK            = "JDK"
	LimitCPUs           = "CPUs seen"
	LimitBoot           = "Spring Boot"
	LimitJVMFlags       = "JVM flags"
	LimitNetns          = "network namespace"
	LimitPlace          = "place"
	LimitDefaults       = "JVM defaults" // of several JDKs those that differ
)

// LimitNames are the rows in the order of a table.
var LimitNames = []string{
	LimitWorkers, LimitCarriers, LimitLoops, LimitMaxConnections, LimitAccept, LimitKeepAlive, LimitKeepAliveMS,
	LimitClientPool, LimitClientPending, LimitDBPool, LimitServer, LimitClient, LimitClientVersion, LimitClientExecutor,
	LimitTransport, LimitAllocator, LimitHeap, LimitCollector, LimitJDK, LimitCPUs, LimitBoot, LimitJVMFlags, LimitDefaults,
	LimitNetns, LimitPlace,
}
