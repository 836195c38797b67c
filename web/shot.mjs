import { chromium } from "playwright-core";
const [,, base, out, ...paths] = process.argv;
const exe = process.env.CHROMIUM || undefined;
const b = await chromium.launch({ executablePath: exe, args:["--no-sandbox"] });
for (const [name, w, scheme] of [["desk",1280,"light"],["phone",390,"dark"]]) {
  const p = await b.newPage({ viewport:{width:w,height:900}, colorScheme: scheme });
  for (const path of paths) { await p.goto(base+path); await p.screenshot({path:`${out}-${name}-${path.replace(/\W+/g,"_")}.png`, fullPage:true}); console.log(name, path, await p.evaluate(()=>document.documentElement.scrollWidth-document.documentElement.clientWidth)); }
}
await b.close();
