/** The client library in Node. */
export * from './index.ts';
