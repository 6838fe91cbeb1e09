/** Which planted bug is in; '' is none. Read where a patched build looks for it, and by the models of this folder. */
export const planted: { name: string } = { name: '' };

/** For code that a patch has put in: it imports nothing. */
Object.defineProperty(globalThis, 'isPlanted', { value: (name: string) => planted.name === name });
