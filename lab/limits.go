package lab

import (
	"fmt"
	"strings"

	"loomlab/lab/record"
)

// Names of the limits table's rows. Defaults are the commonest hidden limits
// (METHOD rule 16), and a difference in what is not the subject spoils a
// comparison (rule 15), so both stand side by side for all SUTs.
const (
	limitWorkers        = "worker threads"
	limitMaxConnections = "max connections"
	limitAccept         = "accept queue"
	limitKeepAlive      = "requests per connection"
	limitKeepAliveMS    = "keep-alive, ms"
	limitServer         = "server"
	limitClient         = "client"
	limitClientPool     = "client pool"
	limitClientPending  = "client pending"
	limitClientVersion  = "client HTTP version"
	limitClientExecutor = "client executor"
	limitLoops          = "event loops"
	limitCarriers       = "carrier threads"
	limitTransport      = "transport"
	limitAllocator      = "allocator"
	limitDBPool         = "db pool"
	limitHeap           = "heap, MB"
	limitGC             = "collector"
	limitJDK            = "JDK"
	limitCPUs           = "CPUs seen"
	limitBoot           = "Spring Boot"
	limitFlags          = "JVM flags"
)

// infoRows says under which row a key of /lab/info stands.
var infoRows = map[string]string{
	"tomcat_max_threads":         limitWorkers,
	"tomcat_max_connections":     limitMaxConnections,
	"tomcat_accept_count":        limitAccept,
	"tomcat_keep_alive_requests": limitKeepAlive,
	"tomcat_keep_alive_ms":       limitKeepAliveMS,
	"server":                     limitServer,
	"client_factory":             limitClient,
	"client_pool":                limitClientPool,
	"client_pending":             limitClientPending,
	"client_http_version":        limitClientVersion,
	"client_executor":            limitClientExecutor,
	"netty_loops":                limitLoops,
	"netty_transport":            limitTransport,
	"netty_allocator":            limitAllocator,
	"processors":                 limitCPUs,
	"boot":                       limitBoot,
}

// limits enters a SUT into the limits table of the run, once.
func (l *lab) limits(s *PlannedSUT, start record.Start, info map[string]string) {
	if l.run.Limits == nil {
		l.run.Limits = map[string]map[string]string{}
	}
	if l.run.Limits[s.Name] == nil && start.Error == "" {
		l.run.Limits[s.Name] = limitsOf(s, start, info)
	}
}

// limitsOf collects a SUT's limits: what the experiment declares, what its
// command line says, and over both what is in force, as app and JVM tell it.
func limitsOf(s *PlannedSUT, start record.Start, info map[string]string) map[string]string {
	rows := map[string]string{}
	for row, n := range map[string]int{limitWorkers: s.Limits.Workers, limitMaxConnections: s.Limits.MaxConnections,
		limitClientPool: s.Limits.ClientPool, limitDBPool: s.Limits.DBPool} {
		if n > 0 {
			rows[row] = fmt.Sprint(n)
		}
	}
	if s.Kind == KindStandin {
		standinRows(rows, start.Argv)
	}
	for key, value := range info {
		if row, ok := infoRows[key]; ok {
			rows[row] = value
		}
	}
	if info["server_virtual"] == "true" { // carriers matter to virtual threads alone
		rows[limitWorkers] = "virtual threads"
		rows[limitCarriers] = info["carriers"]
	}
	if j := start.JVM; j != nil {
		jvmRows(rows, j)
	}
	return rows
}

// standinRows reads the flags of a stand-in's command line.
func standinRows(rows map[string]string, argv []string) {
	names := map[string]string{"--workers": limitWorkers, "--pool": limitClientPool, "--max-conns": limitMaxConnections, "--backlog": limitAccept}
	for i, word := range argv {
		name, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(argv) {
			value = argv[i+1]
		}
		if row, ok := names[name]; ok {
			rows[row] = value
		}
	}
}

func jvmRows(rows map[string]string, j *record.StartJVM) {
	rows[limitJDK], rows[limitGC] = j.Version, j.Collector
	var heap, other []string
	for _, flag := range j.Flags {
		size, isMax := strings.CutPrefix(flag, "-Xmx")
		least, isMin := strings.CutPrefix(flag, "-Xms")
		switch {
		case isMax || isMin:
			text := size
			if isMin {
				text = least
			}
			if bytes, ok := jvmSize(text); ok {
				text = fmt.Sprint(bytes >> 20)
			}
			if isMin {
				heap = append([]string{text}, heap...)
			} else {
				heap = append(heap, text)
			}
		default:
			other = append(other, flag)
		}
	}
	if heap != nil {
		rows[limitHeap] = strings.Join(heap, " to ")
	}
	if other != nil {
		rows[limitFlags] = strings.Join(other, " ")
	}
}
