# frozen_string_literal: true

# A page of 50 fragments, each from the cache that TIERCEL_LAB_CACHE names: a Rails store's name (null_store,
# memory_store), or URLs as Tiercel takes them (memory:, redis://127.0.0.1:6379/0).
#
#   bin/lab http tiercel-lab/test/support/page.ru --config null_store --config memory:
require "active_support"
require "active_support/cache"
require "erb"
require "tiercel"

PRODUCTS = Array.new(50) do |id|
  tags = Array.new(8) { |tag| "tag #{(id * tag) % 23}" }
  { id:, name: "Product <#{id}>", price: 995 + (137 * id), tags: }
end

FRAGMENT = ERB.new(<<~HTML, trim_mode: "-")
  <article id="product-<%= product[:id] %>">
    <h2><%= ERB::Util.html_escape(product[:name]) %></h2>
    <p><%= format("%.2f", product[:price] / 100.0) %></p>
    <ul>
    <%- product[:tags].sort.each do |tag| -%>
      <li><a href="/tags/<%= ERB::Util.url_encode(tag) %>"><%= ERB::Util.html_escape(tag) %></a></li>
    <%- end -%>
    </ul>
  </article>
HTML

text = ENV.fetch("TIERCEL_LAB_CACHE", "null_store")
CACHE = text.match?(/\A\w+_store\z/) ? ActiveSupport::Cache.lookup_store(text.to_sym) : Tiercel.new(*text.split)

run(lambda do |_env|
  fragments = PRODUCTS.map { |product| CACHE.fetch("product/#{product[:id]}") { FRAGMENT.result_with_hash(product:) } }
  body = "<!DOCTYPE html><title>Products</title>\n#{fragments.join}"
  [200, { "content-type" => "text/html; charset=utf-8", "content-length" => body.bytesize.to_s }, [body]]
end)
