import type { Plugin } from 'vite';

export declare function withoutLeadingSpreads(code: string): string;
export declare const spreadsInChunks: Plugin;
