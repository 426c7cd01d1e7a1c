/** One line a step. The launcher's callers decide where it goes. */
export type OnProgress = (line: string) => void;

export const silent: OnProgress = () => {};
