// Package signin signs people in with OpenID Connect, and programs with tokens, for the front ends
// of a host.
//
//	store, err := signin.OpenPostgreSQL(ctx, db)
//	in, err := signin.New(signin.Config{Issuer: "https://id.example.com", ClientID: "desk",
//		ClientSecret: secret, Page: "https://desk.example.com/interlude/", Store: store})
//	lc, err := lifecycle.New(lifecycle.Config{ /* … */ Authorize: store.Authorize})
//	page := web.Handler(lc.Client, web.Options{Identify: in.Identify})
//	err = page.ListenAndServe(ctx, "127.0.0.1:8080", in.Wrap(page))
//
// A browser without a session is redirected to the provider; a program gets 401. The sign-in uses
// the authorization code flow with PKCE, state and nonce. A session is a cookie that only this host
// can read and write (AES-GCM), with the person, the groups and an end; its keys are in the
// database, so all nodes accept it. Sessions, tokens and keys that end do so on other nodes within
// five seconds.
//
// It does not manage people, passwords or second factors: the provider does. Serve it with TLS:
// cookies have the prefix __Host-, which browsers accept only from secure origins.
package signin
