package lab

import (
	"fmt"
	"strings"

	"loomlab/lab/experiment"
	"loomlab/lab/netns"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// infoRows says under which row a key of /lab/info stands.
var infoRows = map[string]string{
	"tomcat_max_threads":         record.LimitWorkers,
	"tomcat_max_connections":     record.LimitMaxConnections,
	"tomcat_accept_count":        record.LimitAccept,
	"tomcat_keep_alive_requests": record.LimitKeepAlive,
	"tomcat_keep_alive_ms":       record.LimitKeepAliveMS,
	"server":                     record.LimitServer,
	"client_factory":             record.LimitClient,
	"client_pool":                record.LimitClientPool,
	"client_pending":             record.LimitClientPending,
	"client_http_version":        record.LimitClientVersion,
	"client_executor":            record.LimitClientExecutor,
	"netty_loops":                record.LimitLoops,
	"netty_transport":            record.LimitTransport,
	"netty_allocator":            record.LimitAllocator,
	"db_pool":                    record.LimitDBPool,
	"processors":                 record.LimitCPUs,
	"boot":                       record.LimitBoot,
}

// limits enters a SUT into the limits table of the run, once.
func (l *lab) limits(s *plan.SUT, start record.Start, info map[string]string) {
	if l.run.Limits == nil {
		l.run.Limits = map[string]map[string]string{}
	}
	if l.run.Limits[s.Name] == nil && start.Error == "" {
		l.run.Limits[s.Name] = limitsOf(s, start, info)
	}
}

// limitsOf collects a SUT's limits: what the experiment declares, what its
// command line says, and over both what is in force, as app and JVM tell it.
func limitsOf(s *plan.SUT, start record.Start, info map[string]string) map[string]string {
	rows := map[string]string{}
	for row, n := range map[string]int{record.LimitWorkers: s.Limits.Workers, record.LimitMaxConnections: s.Limits.MaxConnections,
		record.LimitClientPool: s.Limits.ClientPool, record.LimitDBPool: s.Limits.DBPool} {
		if n > 0 {
			rows[row] = fmt.Sprint(n)
		}
	}
	if s.Netns != nil {
		rows[record.LimitNetns] = netns.Text(s.Netns)
	}
	if len(s.Place) > 0 {
		rows[record.LimitPlace] = experiment.PlaceText(s.Place)
	}
	if len(start.Argv) > 1 && start.Argv[1] == "standin" { // by an experiment's leave, or as somebody's own command
		standinRows(rows, start.Argv[2:])
	}
	for key, value := range info {
		if row, ok := infoRows[key]; ok {
			rows[row] = value
		}
	}
	if info["server_virtual"] == "true" { // carriers matter to virtual threads alone
		rows[record.LimitWorkers] = "virtual threads"
		rows[record.LimitCarriers] = info["carriers"]
	}
	if j := start.JVM; j != nil {
		jvmRows(rows, j)
	}
	return rows
}

// standinRows reads the flags of a stand-in's command line.
func standinRows(rows map[string]string, argv []string) {
	names := map[string]string{"--workers": record.LimitWorkers, "--pool": record.LimitClientPool, "--max-conns": record.LimitMaxConnections, "--backlog": record.LimitAccept}
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
	rows[record.LimitJDK], rows[record.LimitCollector] = j.Version, j.Collector
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
			if bytes, ok := plan.JVMSize(text); ok {
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
		rows[record.LimitHeap] = strings.Join(heap, " to ")
	}
	if other != nil {
		rows[record.LimitJVMFlags] = strings.Join(other, " ")
	}
}
