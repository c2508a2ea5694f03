package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loomlab/lab/java"
	"loomlab/lab/phrase"
)

// folderFile is a file of a folder that is copied to another machine.
type folderFile struct {
	path string // below the folder, with slashes
	mode fs.FileMode
	size int64
	sum  string
}

// listFolder lists the regular files below a folder in the order of their names.
func listFolder(root string) ([]folderFile, error) {
	var files []folderFile
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		sum, size, err := java.SumFile(path)
		files = append(files, folderFile{filepath.ToSlash(rel), info.Mode().Perm(), size, sum})
		return err
	})
	return files, err
}

// folderName names a folder by all that is in it, permissions apart.
func folderName(files []folderFile) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s  %s\n", f.sum, f.path)
	}
	return "apps-" + hex.EncodeToString(sum.Sum(nil))[:programName]
}

// putSize is how much of a file goes in one message.
const putSize = 256 << 10

// copyFolder copies a folder to the site, unless it is there, and returns its path there.
func (s *site) copyFolder(ctx context.Context, folder string, progress func(string)) (string, error) {
	if path, copied := s.folders[folder]; copied {
		return path, nil
	}
	files, err := listFolder(folder)
	if err != nil {
		return "", err
	}
	name := folderName(files)
	var there folderAnswer
	if err := s.ask(ctx, askLimit, "has", folderQuestion{name}, &there); err != nil {
		return "", err
	}
	if !there.Have {
		total := int64(0)
		for _, f := range files {
			total += f.size
		}
		progress(fmt.Sprintf("%s: copying jars there (%s)", s.name, phrase.MiB(total)))
		for _, f := range files {
			if err := s.copyFile(ctx, folder, name, f); err != nil {
				return "", fmt.Errorf("cannot copy %s: %w", f.path, err)
			}
		}
		if err := s.ask(ctx, time.Minute, "keep", folderQuestion{name}, &there); err != nil {
			return "", err
		}
	}
	s.folders[folder] = there.Path
	return there.Path, nil
}

// copyFile sends a file piece by piece, so that heartbeats get through between.
func (s *site) copyFile(ctx context.Context, folder, name string, f folderFile) error {
	file, err := os.Open(filepath.Join(folder, filepath.FromSlash(f.path)))
	if err != nil {
		return err
	}
	defer file.Close()
	piece := make([]byte, putSize)
	for sent := int64(0); ; {
		n, err := io.ReadFull(file, piece)
		if n > 0 || sent == 0 {
			q := putQuestion{Folder: name, File: f.path, Mode: f.mode, Data: piece[:n]}
			if err := s.ask(ctx, time.Minute, "put", q, nil); err != nil {
				return err
			}
			sent += int64(n)
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		}
	}
}
