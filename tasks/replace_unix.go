//go:build !windows

package tasks

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// replaceFile puts the data in the place of the file and makes that durable. The temporary file stands
// beside the target, not in $TMPDIR, where other users could see its name.
func replaceFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close()) // the rename is durable when the folder is
}
