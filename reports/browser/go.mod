// The pages of reports in a real browser: a module of its own, so that the driver
// of the browser never reaches a user's go.sum.
module staleproof/reports/browser

go 1.26.0

require (
	github.com/chromedp/cdproto v0.160.1
	github.com/chromedp/chromedp v0.23.1
	staleproof v0.0.0
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect

replace staleproof => ../..
