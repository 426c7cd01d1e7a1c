/** Texts that would run, if anybody took them for markup. */
export const HOSTILE = `<script>alert(1)</script><img src=x onerror="alert(2)"><a href="javascript:alert(3)">a "quoted" \\ text\nin two lines</a>`;
