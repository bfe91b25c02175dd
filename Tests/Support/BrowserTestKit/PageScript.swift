/// Functions of JavaScript that the kit runs in pages.
enum PageScript {
    /// A selector that finds an element, short enough to be read.
    static let path = """
        element => {
            const step = node => {
                if (node.id) return '#' + CSS.escape(node.id);
                const name = node.localName + [...node.classList].slice(0, 2).map(one => '.' + \
        CSS.escape(one)).join('');
                const same = node.parentElement ? [...node.parentElement.children].filter(one => one.localName === \
        node.localName) : [];
                return same.length > 1 ? name + ':nth-of-type(' + (same.indexOf(node) + 1) + ')' : name;
            };
            const steps = [];
            for (let node = element; node && node !== document.documentElement; node = node.parentElement) {
                steps.unshift(step(node));
                if (node.id || node === document.body) break;
            }
            return steps.join(' > ') || 'html';
        }
        """

    /// Where to point at an element: the first that is shown and has the text.
    static let locate = """
        (selector, text) => {
            const path = \(path);
            const all = [...document.querySelectorAll(selector)]
                .filter(element => text === null || element.textContent.includes(text));
            if (all.length === 0) return { obstacle: 'there is none' };
            const element = all.find(one => one.getClientRects().length > 0 && getComputedStyle(one).visibility === \
        'visible');
            if (!element) return { obstacle: 'it is not shown' };
            if (element.matches(':disabled')) return { obstacle: 'it is disabled' };
            // Of a link over several lines the first piece.
            let box = element.getClientRects()[0];
            if (box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth) {
                element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
                box = element.getClientRects()[0];
            }
            if (box.width === 0 || box.height === 0) return { obstacle: 'it has no extent' };
            const x = box.left + box.width / 2, y = box.top + box.height / 2;
            const hit = document.elementFromPoint(x, y);
            const isHit = hit && (element.contains(hit) || hit.closest('label')?.control === element);
            if (!isHit) return { obstacle: hit ? path(hit) + ' covers it' : 'it is out of sight' };
            return { x, y };
        }
        """

    /// Focuses a field and selects what it holds. A field that the browser fills through a picker (a date, a choice)
    /// gets its value at once.
    /// Returns whether the text is still to be typed.
    static let prepareField = """
        (selector, text) => {
            const field = document.activeElement?.matches(selector) ? document.activeElement : \
        document.querySelector(selector);
            const picked = ['date', 'datetime-local', 'month', 'week', 'time', 'color', 'range'];
            if (field instanceof HTMLInputElement && picked.includes(field.type)) {
                field.focus();
                field.value = text;
                if (field.value !== text) throw new Error(`${selector} takes no ${JSON.stringify(text)}`);
                field.dispatchEvent(new Event('input', { bubbles: true }));
                field.dispatchEvent(new Event('change', { bubbles: true }));
                return false;
            }
            if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement))
                throw new Error(`${selector} is no field for text`);
            if (field.readOnly) throw new Error(`${selector} is read only`);
            field.focus();
            field.select();
            return true;
        }
        """

    /// Chooses an option of a `<select>` by its value or its text.
    static let choose = """
        (selector, option) => {
            const field = document.querySelector(selector);
            if (!(field instanceof HTMLSelectElement)) throw new Error(`${selector} is no <select>`);
            if (field.disabled) throw new Error(`${selector} is disabled`);
            const options = [...field.options];
            const found = options.find(one => one.value === option) ?? options.find(one => one.text.trim() === option);
            if (!found || found.disabled)
                throw new Error(`${selector} has no option ${option}, but ${options.map(one => one.value).join(', ')}`);
            field.focus();
            found.selected = true;
            field.dispatchEvent(new Event('input', { bubbles: true }));
            field.dispatchEvent(new Event('change', { bubbles: true }));
            return true;
        }
        """

    /// Elements that make the page wider than the window, and elements that cut text off.
    static let overflowing = """
        width => {
            const path = \(path);
            const found = [];
            const shorten = text => text.trim().replace(/\\s+/g, ' ').slice(0, 60);
            const cuts = (element, axis) => ['hidden', 'clip'].includes(getComputedStyle(element)['overflow' + axis]);
            const scrolls = (element, axis) => ['auto', 'scroll'].includes(getComputedStyle(element)['overflow' + \
        axis]);
            const around = function* (node) {
                for (let one = node.parentElement; one && one !== document.body; one = one.parentElement) yield one;
            };
            // Kept from sight on purpose, such as text for screen readers only: at most one pixel is left of it.
            const isTiny = element => {
                const box = element.getBoundingClientRect();
                return (box.width <= 1 && cuts(element, 'X')) || (box.height <= 1 && cuts(element, 'Y'));
            };
            const isAside = element =>
                [element, ...around(element)].some(one => isTiny(one) || getComputedStyle(one).clipPath === \
        'inset(50%)');
            const isShown = element =>
                element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && !isAside(element);

            const excess = Math.max(document.documentElement.scrollWidth, innerWidth) - width;
            if (excess > 1) {
                // Text may reach beyond the box that it is in.
                const reach = element => {
                    const box = element.getBoundingClientRect();
                    const isOpen = getComputedStyle(element).overflowX === 'visible';
                    return Math.max(box.right, isOpen ? box.left + element.scrollWidth : 0) + scrollX - width;
                };
                const isContained = element =>
                    [...around(element)].some(one => cuts(one, 'X') || scrolls(one, 'X'));
                const wide = [...document.body.querySelectorAll('*')].filter(element =>
                    reach(element) > 1 && isShown(element) && !isContained(element));
                // The innermost ones are the cause.
                const causes = wide.filter(element => !wide.some(other => other !== element && \
        element.contains(other)));
                for (const element of causes) {
                    found.push({
                        kind: 'page', selector: path(element), text: shorten(element.textContent), excess: \
        reach(element)
                    });
                }
                if (causes.length === 0) found.push({ kind: 'page', selector: 'html', text: '', excess });
            }

            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const range = document.createRange();
            while (texts.nextNode()) {
                const node = texts.currentNode;
                if (node.data.trim() === '' || node.parentElement.closest('[title], script, style, noscript, option')) \
        continue;
                if (!isShown(node.parentElement)) continue;
                range.selectNodeContents(node);
                const box = range.getBoundingClientRect();
                let across = true, down = true;
                for (const one of around(node)) {
                    const inner = one.getBoundingClientRect();
                    if (scrolls(one, 'X')) across = false;
                    if (scrolls(one, 'Y')) down = false;
                    const excess = Math.max(
                        across && cuts(one, 'X') ? Math.max(box.right - inner.right, inner.left - box.left) : 0,
                        down && cuts(one, 'Y') ? Math.max(box.bottom - inner.bottom, inner.top - box.top) : 0);
                    if (excess > 1) {
                        found.push({ kind: 'text', selector: path(one), text: shorten(node.data), excess });
                        break;
                    }
                }
            }
            return found;
        }
        """

    /// Runs axe-core, which must be there already.
    static let accessibility = """
        async tags => {
            const result = await axe.run(document, {
                runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'], iframes: false
            });
            return result.violations.flatMap(rule => rule.nodes.map(node => ({
                rule: rule.id, impact: node.impact ?? rule.impact ?? '', selector: node.target.flat().join(' '),
                help: rule.help, summary: node.failureSummary ?? ''
            })));
        }
        """
}
