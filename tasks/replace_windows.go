package tasks

import (
	"errors"
	"os"
	"path/filepath"
)

// replaceFile puts the data in the place of the file. The rename replaces an existing file in one step
// on NTFS; Windows has no call that makes a folder durable.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
