/** Version of the package; a test compares both. */
export const VERSION = '0.1.0';
/** Commit that the package was built from, which the build writes here; empty in sources and outside of a repository. */
export const COMMIT = '';
