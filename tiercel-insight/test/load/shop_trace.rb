# frozen_string_literal: true

# Runs in the lab's shop: visits its pages, and prints the keys that they read, with the bytes of their values, as JSON.
now = Time.utc(2026, 1, 1)
first = Product.first
Product.insert_all!(Array.new(2_800) do |index|
  { **first.attributes.except("id").symbolize_keys, name: "Product #{index}", created_at: now, updated_at: now + index }
end)
products = Product.order(:id).pluck(:id)
total = 0.0
sums = products.each_index.map { |rank| total += (rank + 1)**-0.9 }
random = Random.new(2)
popular = -> { products[sums.bsearch_index { |sum| sum >= random.rand * total }] }

store = ActiveSupport::Cache::MemoryStore.new(size: 1 << 30)
Rails.cache = ActionController::Base.cache_store = ActionView::PartialRenderer.collection_cache = store
Rails.logger.level = :fatal
bytes = Hash.new(100)
trace = nil
text = ->(key) { ActiveSupport::Cache.expand_cache_key(key) }
listen = ->(event, &block) { ActiveSupport::Notifications.subscribe(event) { |*, payload| block.call(payload) } }
listen.call("cache_read.active_support") { |payload| trace << text[payload[:key]] }
listen.call("cache_read_multi.active_support") { |payload| trace.concat(payload[:key].map(&text)) }
visit = lambda do |path|
  status, _, body = Rails.application.call(Rack::MockRequest.env_for(path, "HTTP_HOST" => "localhost"))
  raise "#{path}: #{status}" unless status == 200
  body.each { nil }
  body.close if body.respond_to?(:close)
end

found = { "visitors" => lambda do |_at|
            chance = random.rand
            next visit["/products/#{popular.call}"] if chance < 0.96
            visit[["/products", "/products/guides", "/products/summaries"].sample(random:)]
          end,
          "crawler and editors" => lambda do |at|
            next visit["/products/#{products[at * 3 % products.size]}"] if at % 5 == 0
            Product.find(popular.call).touch if at % 40 == 1
            visit["/products/#{popular.call}"]
          end }.to_h do |name, page|
  trace = []
  12_000.times(&page)
  recorded, trace = trace, [] # the next line is no page
  store.read_multi(*recorded.uniq).each { |key, value| bytes[key] = value.to_s.bytesize }
  [name, recorded.map { |key| [key, bytes[key]] }]
end
puts JSON.generate(found)
