package shellsafe_test

import (
	"fmt"

	"github.com/planmode-dev/planmode/shellsafe"
)

func ExampleAnalyze_powerShell() {
	opts := &shellsafe.Options{Dialect: shellsafe.PowerShell}
	for _, line := range []string{
		`Get-ChildItem -Recurse | Where-Object { $_.Length -gt 1MB } | Select-Object FullName`,
		`gci | % { Remove-Item $_ }`,
		`gci > nul`,
		`& $command`,
		`Get-Process -ComputerName web1`,
	} {
		r := shellsafe.Analyze(line, opts)
		fmt.Printf("%v: %s\n", r.Verdict, line)
		if r.Verdict != shellsafe.Read {
			fmt.Printf("    %q at %d: %s\n", r.At.Text, r.At.Offset, r.Reason)
		}
		if r.Hint != "" {
			fmt.Printf("    %s\n", r.Hint)
		}
	}
	// Output:
	// read: Get-ChildItem -Recurse | Where-Object { $_.Length -gt 1MB } | Select-Object FullName
	// write: gci | % { Remove-Item $_ }
	//     "Remove-Item" at 10: Remove-Item deletes
	//     Get-ChildItem shows what is there
	// write: gci > nul
	//     "> nul" at 4: output is redirected to a file
	//     PowerShell's null device is $null
	// contained: & $command
	//     "$command" at 2: what is called is known only when the line runs
	//     write the command's name
	// network: Get-Process -ComputerName web1
	//     "-ComputerName" at 12: -ComputerName makes Get-Process work on another machine
	//     drop -ComputerName
}

func ExampleAnalyze_cmd() {
	opts := &shellsafe.Options{Dialect: shellsafe.Cmd}
	for _, line := range []string{
		`dir /s /b *.go 2>nul`,
		`type app.log | findstr /n ERROR`,
		`echo "a & b" & d^el app.log`,
	} {
		r := shellsafe.Analyze(line, opts)
		fmt.Printf("%v: %s\n", r.Verdict, line)
		if r.Verdict != shellsafe.Read {
			fmt.Printf("    %q at %d: %s\n", r.At.Text, r.At.Offset, r.Reason)
		}
	}
	// Output:
	// read: dir /s /b *.go 2>nul
	// read: type app.log | findstr /n ERROR
	// write: echo "a & b" & d^el app.log
	//     "d^el" at 15: `del` is not a command that only reads
}
