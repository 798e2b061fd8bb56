# frozen_string_literal: true

# Creates 200 products, the same ones in every run.
words = %w[amber basalt cedar delta ember flint garnet hazel indigo jasper kelp linen maple nickel ochre pewter]
now = Time.utc(2026, 1, 1)

Product.insert_all!(
  Array.new(200) do |index|
    pick = ->(offset) { words[((index * 7) + (offset * 5)) % words.size] }
    { name: "#{pick.(1)} <#{pick.(2)}> #{index + 1}".capitalize, price_in_cents: 995 + (137 * index),
      description: Array.new(24) { |offset| pick.(offset + (index % 3)) }.join(" "),
      tags: Array.new(6) { |offset| pick.(offset * 3) }.uniq.join(","),
      created_at: now, updated_at: now + index }
  end
)
