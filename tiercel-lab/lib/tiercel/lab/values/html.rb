# frozen_string_literal: true

require_relative "text"

module Tiercel
  module Lab
    module Values
      # Pages of a shop: cards with repeating markup and varying text and numbers. zlib compresses 822 KB of them by a
      # factor of 5 to 6, as it does real pages.
      class HTML < Text
        # Shorter values have no page head. The head alone would fill them, and be the same for every seed.
        LEAST_WITH_HEAD = 256

        private

        def text(random, index)
          page = +"<!-- page #{index} -->"
          page << "<section class=\"products\" data-page=\"#{index}\">\n" unless @bytes < LEAST_WITH_HEAD
          card(page, random) while page.bytesize < @bytes
          cut = page.byteslice(0, @bytes).scrub("")
          cut << (" " * (@bytes - cut.bytesize)) # replaces a multibyte character that was cut
        end

        def card(page, random)
          id = random.rand(1_000_000)
          name = words(random, 3)
          page << "  <article class=\"product-card\" id=\"product_#{id}\" " \
                  "data-sku=\"#{random.rand(36**8).to_s(36)}\">\n" \
                  "    <a href=\"/products/#{id}-#{name.tr(" ", "-")}\">" \
                  "<img src=\"/images/#{random.rand(36**6).to_s(36)}.webp\" alt=\"#{name}\" loading=\"lazy\"></a>\n" \
                  "    <h3 class=\"title\">#{name.capitalize}</h3>\n" \
                  "    <p class=\"description\">#{words(random, 8 + random.rand(16))}.</p>\n" \
                  "    <span class=\"price\">€ #{random.rand(900)}.#{format("%02d", random.rand(100))}</span>\n" \
                  "  </article>\n"
        end

        def words(random, number) = Array.new(number) { WORDS[random.rand(WORDS.size)] }.join(" ")
      end
    end
  end
end
