/** The client library. Its first part, sign-in and lobbies, comes with the lobby and account operations. */
export {};
