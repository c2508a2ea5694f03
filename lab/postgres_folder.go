package lab

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"loomlab/lab/record"
)

// postgresFolder is where a run keeps its PostgreSQL: below the folder for
// temporary files, since the server may run as somebody who cannot enter the
// user's own. The run removes it at its end; when the run is killed, a guard of its own
// does, and the next run what that one missed.
type postgresFolder struct {
	path  string
	guard *tier    // ends with the run
	lock  *os.File // held as long as the run lives
	user  string   // uid:gid that the server runs as; "": the lab's own
	uid   int      // of user
	gid   int
	home  string // folder of the programs that the server can enter
	used  int    // folders handed out
}

const postgresFolderPattern = "loomlab-postgres-"

// newPostgresFolder makes it. PostgreSQL refuses to run as root: then it runs as
// nobody, with a copy of the programs, which lie in a folder of root's.
func newPostgresFolder(self, home string) (p *postgresFolder, err error) {
	sweepPostgresFolders(os.TempDir())
	p = &postgresFolder{home: home}
	if p.path, err = os.MkdirTemp("", postgresFolderPattern+"*"); err != nil {
		return nil, fmt.Errorf("no folder for PostgreSQL's data: %w", err)
	}
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	if p.lock, err = os.Create(filepath.Join(p.path, "lock")); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", p.path, err)
	}
	if p.guard, err = start(self, launch{tier: record.TierPostgres, log: io.Discard, remove: p.path}); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return p, nil
	}
	if closed := closedFolder(p.path); closed != "" {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and who it runs as cannot enter %s; set TMPDIR to a folder that everyone can enter, such as /tmp", closed)
	}
	p.uid, p.gid = nobody()
	p.user = fmt.Sprintf("%d:%d", p.uid, p.gid)
	if err := os.Chmod(p.path, 0o755); err != nil {
		return nil, err
	}
	p.home = filepath.Join(p.path, "programs")
	if err := os.CopyFS(p.home, os.DirFS(home)); err != nil {
		return nil, fmt.Errorf("cannot copy PostgreSQL's programs to where user %s can run them: %w", p.user, err)
	}
	return p, openToAll(p.home)
}

// closedFolder is the first folder above path that others may not enter, or "".
func closedFolder(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// openToAll undoes what a strict umask left out: others may read, and run what the owner may.
func openToAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()
		return os.Chmod(path, mode|mode&0o500>>3|mode&0o500>>6)
	})
}

// nobody is the user without rights that every system has.
func nobody() (uid, gid int) {
	uid, gid = 65534, 65534
	u, err := user.Lookup("nobody")
	if err != nil {
		return uid, gid
	}
	id, errUser := strconv.Atoi(u.Uid)
	group, errGroup := strconv.Atoi(u.Gid)
	if errUser != nil || errGroup != nil || id <= 0 { // -2 of some systems does not fit a uid:gid
		return uid, gid
	}
	return id, group
}

// next makes a folder for one server, its user's own.
func (p *postgresFolder) next() (dir string, err error) {
	p.used++
	dir = filepath.Join(p.path, strconv.Itoa(p.used))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if p.user != "" {
		return dir, os.Chown(dir, p.uid, p.gid)
	}
	return dir, nil
}

// remove removes everything.
func (p *postgresFolder) remove() {
	if p == nil {
		return
	}
	_ = os.RemoveAll(p.path) // what stays the next run sweeps
	if p.guard != nil {
		p.guard.stop()
	}
	if p.lock != nil {
		_ = p.lock.Close()
	}
}

// sweepPostgresFolders removes the folders of runs that are dead: their lock is free.
func sweepPostgresFolders(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, postgresFolderPattern+"*"))
	for _, folder := range folders {
		lock, err := os.Open(filepath.Join(folder, "lock"))
		if err != nil {
			continue // just being made, or somebody else's
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && ownFolder(folder) {
			_ = os.RemoveAll(folder)
		}
		_ = lock.Close()
	}
}

// ownFolder tells whether this user made a folder: in a common /tmp others can
// make one of any name.
func ownFolder(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
