// Choosing moments: a message must be one of the chat that is chosen.

for (const select of document.querySelectorAll('.choose select')) {
    const number = select.closest('fieldset').querySelector('input[type=number]');
    select.addEventListener('change', () => {
        const { last } = select.selectedOptions[0].dataset;
        number.max = last ?? '';
        if (number.value !== '' && Number(number.value) > Number(last)) {
            number.value = '';
        }
    });
}
