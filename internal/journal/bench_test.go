package journal

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// event is about as long as a session's usual line.
var event = []byte(`{"seq":123456,"id":"9f86d081","parent":"60303ae2","time":"2026-01-02T03:04:05.678Z","by":"model","type":"message_done","data":{"text":"` +
	string(bytes.Repeat([]byte("words and words "), 40)) + `"}}`)

// BenchmarkAppend compares an append with what no journal can do without: one write and one fsync. Both run
// in turns, so that a busy disk slows both. The cost must not grow with the file.
func BenchmarkAppend(b *testing.B) {
	for _, before := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("after %d lines", before), func(b *testing.B) {
			dir := b.TempDir()
			path := filepath.Join(dir, "s.jsonl")
			write(b, path, string(bytes.Repeat(append(bytes.Clone(event), '\n'), before)))
			f := mustOpen(b, path, nil)
			bare, err := os.Create(filepath.Join(dir, "bare"))
			if err != nil {
				b.Fatal(err)
			}
			defer bare.Close()
			line := append(bytes.Clone(event), '\n')
			var ours, theirs time.Duration
			for b.Loop() {
				start := time.Now()
				if err := f.Append(event); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
				b.StopTimer()
				start = time.Now()
				if _, err := bare.Write(line); err != nil {
					b.Fatal(err)
				}
				if err := bare.Sync(); err != nil {
					b.Fatal(err)
				}
				theirs += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
		})
	}
}

// BenchmarkReplay compares reading a whole journal with a bufio.Scanner that only finds the lines.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("%d lines", n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "s.jsonl")
			write(b, path, string(bytes.Repeat(append(bytes.Clone(event), '\n'), n)))
			b.SetBytes(int64(n * (len(event) + 1)))
			var ours, theirs time.Duration
			for b.Loop() {
				start := time.Now()
				f, err := Open(path, nil)
				if err != nil {
					b.Fatal(err)
				}
				got := 0
				for _, err := range f.Lines() {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if err := f.Close(); err != nil || got != n {
					b.Fatalf("%d lines, %v", got, err)
				}
				ours += time.Since(start)
				b.StopTimer()
				start = time.Now()
				theirs += scanBare(b, path, n, start)
				b.StartTimer()
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/float64(n), "ns/line")
		})
	}
}

func scanBare(b *testing.B, path string, want int, start time.Time) time.Duration {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	n := 0
	for s.Scan() {
		n++
	}
	if n != want {
		b.Fatalf("%d lines", n)
	}
	return time.Since(start)
}
