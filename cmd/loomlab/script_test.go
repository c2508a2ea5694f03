package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"loomlab/lab/netns"
)

// TestMain lets the test binary be the command in the scripts.
func TestMain(m *testing.M) {
	// Scripts mostly wait: for windows, for settling, for a child's end.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	loomlab := func() {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"loomlab": loomlab,
		// The same where no well-known folder holds a JDK; JAVA_HOME and PATH count.
		"loomlab-alone": func() {
			jdkRoot = "/nonexistent"
			loomlab()
		},
	})
}

// TestScripts runs testdata/script/*.txt. Beside testscript's own they have
//
//	$PORT, $PORT2    free ports of loopback
//	$BIN             the folder of the command loomlab alone
//	ready URL        waits until a GET of URL is answered
//	status N cmd…    runs a command and wants this exit status
//	json FILE EXPR…  see scriptJSON
//	accounted FILE N see scriptAccounted
//	nothing-left     wants no process that the script has started to be there
//	[netns]          whether network namespaces can be made here
func TestScripts(t *testing.T) {
	if files, _ := filepath.Glob("testdata/script/*.txt"); len(files) == 0 {
		t.Fatal("no scripts")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"PORT", "PORT2"} {
				port, err := freePort()
				if err != nil {
					return err
				}
				env.Setenv(name, strconv.Itoa(port))
			}
			loomlab, err := exec.LookPath("loomlab")
			if err != nil {
				return err
			}
			env.Setenv("BIN", filepath.Dir(loomlab))
			env.Setenv(scriptMark, env.WorkDir)
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "netns" {
				return netns.Lacks() == "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ready":        scriptReady,
			"status":       scriptStatus,
			"json":         scriptJSON,
			"accounted":    scriptAccounted,
			"nothing-left": scriptNothingLeft,
		},
	})
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func scriptReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready URL")
	}
	client := http.Client{Timeout: time.Second}
	var err error
	for range 100 {
		var answer *http.Response
		if answer, err = client.Get(args[0]); err == nil {
			answer.Body.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("not ready: %v", err)
}

// scriptStatus tells exit statuses apart, which "! exec" does not.
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = fmt.Sprint(err)
		var exit interface{ ExitCode() int }
		if e, ok := err.(interface{ ExitCode() int }); ok {
			exit = e
			got = strconv.Itoa(exit.ExitCode())
		}
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}
