package postgres

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/ulikunitz/xz"
)

// Bounds of an archive that is unpacked: several times what PostgreSQL's
// programs take, and far from what fills a disk.
const (
	txzBytes   = 1 << 30
	txzEntries = 20_000
)

// unpackTXZ unpacks a tar archive compressed by xz into the new folder dir. An
// entry that would leave dir, by its name or through a link, is an error, and so
// is whatever is no folder, file or link.
func unpackTXZ(r io.Reader, dir string) error {
	decompressed, err := xz.NewReader(bufio.NewReader(r))
	if err != nil {
		return fmt.Errorf("not an xz archive: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // holds what the checks below may have missed
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(&io.LimitedReader{R: decompressed, N: txzBytes})
	for range txzEntries {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the archive: %w", err)
		}
		if err := unpackEntry(root, archive, entry); err != nil {
			return fmt.Errorf("%q in the archive: %w", entry.Name, err)
		}
	}
	return fmt.Errorf("the archive has more than %d entries", txzEntries)
}

var errLeaves = errors.New("it lies outside of the folder that it is unpacked into")

func unpackEntry(root *os.Root, content io.Reader, entry *tar.Header) error {
	name := filepath.FromSlash(path.Clean(entry.Name))
	if !filepath.IsLocal(name) {
		return errLeaves
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	switch entry.Typeflag {
	case tar.TypeDir:
		if name == "." {
			return nil
		}
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
		return unpackFile(root, content, name, entry.FileInfo().Mode())
	case tar.TypeSymlink:
		if path.IsAbs(entry.Linkname) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), filepath.FromSlash(entry.Linkname))) {
			return errLeaves
		}
		return root.Symlink(filepath.FromSlash(entry.Linkname), name)
	case tar.TypeLink:
		target := filepath.FromSlash(path.Clean(entry.Linkname))
		if !filepath.IsLocal(target) {
			return errLeaves
		}
		return root.Link(target, name)
	case tar.TypeXGlobalHeader:
		return nil
	}
	return fmt.Errorf("an entry of type %q, which is no folder, file or link", entry.Typeflag)
}

// unpackFile writes a new file that everybody may read, and run where its owner may.
func unpackFile(root *os.Root, content io.Reader, name string, mode os.FileMode) error {
	permissions := os.FileMode(0o644)
	if mode&0o100 != 0 {
		permissions = 0o755
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, permissions)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
