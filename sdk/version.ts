/** Version of the package; a test compares both. */
export const VERSION = '0.1.0';
