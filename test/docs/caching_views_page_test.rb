# frozen_string_literal: true

# suites: store
# quick

require_relative "../views/support"
require "rails"
require "active_record"
require "active_support/core_ext/integer/time"

# Every block of docs/caching-views.md runs here. A block begins with the name of its file.
class CachingViewsPageTest < ViewTest
  TEXT = File.read(File.expand_path("../../docs/caching-views.md", __dir__))
  VIEWS = TEXT.scan(/^```erb\n<%# (\S+) %>\n(.*?)^```/m).to_h
  RUBY = TEXT.scan(/^```ruby\n# (\S+)\n(.*?)^```/m).to_h
  # The views of the pages before it.
  OTHER_VIEWS = %w[README.md docs/getting-started.md].to_h do |page|
    [page[/[\w-]+(?=\.)/].downcase, File.read(File.expand_path("../../#{page}", __dir__))[/^```erb\n(.*?)^```/m, 1]]
  end.freeze
  # The models of the page.
  module Models
    class ApplicationRecord < ActiveRecord::Base
      self.abstract_class = true
      self.cache_versioning = true
      extend Tiercel::ModelTags
    end

    class Shop < ApplicationRecord
      has_many :products
    end
    module_eval(RUBY.fetch("app/models/product.rb"))
    Product.define_method(:to_partial_path) { "products/product" }

    def self.table_name_prefix = ""
  end
  User = Struct.new(:name) { def to_param = name }

  def setup
    super
    @before = [Rails.cache, ActionController::Base.cache_store, ActionController::Base.perform_caching]
    eval(RUBY.fetch("test/integration/products_test.rb")) # rubocop:disable Security/Eval
    @store = Rails.cache
    ActionView::PartialRenderer.collection_cache = @store
    Models::ApplicationRecord.establish_connection(adapter: "sqlite3", database: ":memory:")
    Models::ApplicationRecord.connection.create_table(:shops) { |table| [table.string(:name), table.timestamps] }
    Models::ApplicationRecord.connection.create_table(:products) do |table|
      [table.string(:name), table.references(:shop), table.timestamps]
    end
    @shops = [Models::Shop.create!(name: "One"), Models::Shop.create!(name: "Two")]
    @products = @shops.flat_map do |shop|
      %w[a b].map { |name| Models::Product.create!(name: "#{shop.name}-#{name}", shop:) }
    end
    @rate = -> { "1.08" }
    @user = User.new("Huey")
    @page = build
  end

  def teardown
    Rails.cache, ActionController::Base.cache_store, ActionController::Base.perform_caching = @before
    ActionView::PartialRenderer.collection_cache = ActiveSupport::Cache::MemoryStore.new
    Models::ApplicationRecord.remove_connection
    super
  end

  def test_every_block_is_used
    assert_equal TEXT.scan(/^```(erb|ruby)$/).size, VIEWS.size + RUBY.size
    assert_equal %w[products/_product products/greeting products/index products/list products/rates products/show
                    shops/index shops/show], VIEWS.keys.sort
    assert_equal %w[app/models/product.rb config/environments/production.rb config/initializers/prices.rb lib/sale.rb
                    test/integration/products_test.rb], RUBY.keys.sort
  end

  def test_the_line_of_configuration
    config = Struct.new(:cache_store).new
    eval(RUBY.fetch("config/environments/production.rb")) # rubocop:disable Security/Eval
    assert_equal [:tiercel_store, "shared:"], config.cache_store
    Tiercel::Configuration.new(config.cache_store.drop(1), {})
  end

  def test_a_fragment_follows_its_record
    assert_match(/One-a/, show("products/show"))
    assert_equal 0, queries_of_rendering { show("products/show") }
    @products.first.update!(name: "new", updated_at: 1.minute.from_now)
    assert_match(/new/, show("products/show"))
  end

  def test_the_key_of_a_fragment
    show("products/show")
    key = store.backend.scan.to_a.map { |entry| Array(entry).first }.grep(/show/).first
    assert_match(%r{\Aviews/products/show:\h{32,64}/[\w/]*products/1\z}, key)
    store.delete_matched("views/products/show*")
    assert_empty(store.backend.scan.to_a.map { |entry| Array(entry).first }.grep(/show/))
  end

  def test_stale_windows
    show("products/rates")
    travel(90) do
      @rate = -> { raise IOError }
      assert_match(/1.08/, show("products/rates"))
    end
  end

  def test_users_have_their_own_fragments
    assert_match(/Huey/, show("products/greeting"))
    @user = User.new("Louie")
    assert_match(/Louie/, show("products/greeting"))
  end

  def test_collections
    assert_equal 4, show("products/index").scan("<li>").size
    assert_equal 4, show("products/list").scan("<li>").size
    @products.first.update_columns(name: "silent")
    refute_match(/silent/, show("products/list"))
    store.invalidate_tags(@products.first)
    assert_match(/silent/, show("products/list"))
  end

  def test_tags
    show("shops/show")
    @shops.first.name = "renamed"
    refute_match(/renamed/, show("shops/show"))
    eval(RUBY.fetch("config/initializers/prices.rb")) # rubocop:disable Security/Eval
    assert_match(/renamed/, show("shops/show"))
  end

  def test_russian_dolls
    show("shops/index")
    assert_match(/One-a/, show("shops/index"))
    @products.first.update!(name: "changed")
    assert_match(/changed.*One-b.*Two-a/m, show("shops/index"))
    before = store.stats[:misses]
    show("shops/index")
    assert_equal before, store.stats[:misses]
  end

  def test_statements_without_callbacks
    show("shops/index")
    Models.module_eval(RUBY.fetch("lib/sale.rb"))
    assert_match(/Sale.*Sale.*Two-a/m, show("shops/index"))
  end

  def test_the_views_of_readme_and_getting_started
    OTHER_VIEWS.each_key do |view|
      @products.first.update_columns(name: "before")
      assert_match(/before/, show(view))
      @products.first.update_columns(name: "after")
      assert_match(/before/, show(view))
      store.invalidate_tags("product:#{@products.first.id}")
      assert_match(/after/, show(view))
    end
  end

  private

  def show(view) = get(@page, :show, path: "/?view=#{view.include?("/") ? view : "pages/#{view}"}")

  def queries_of_rendering
    count = 0
    counted = ->(*, payload) { count += 1 if payload[:sql].start_with?("SELECT") && payload[:name] != "SCHEMA" }
    ActiveSupport::Notifications.subscribed(counted, "sql.active_record") { yield }
    count
  end

  def build
    test = self
    views = { **VIEWS, **OTHER_VIEWS.transform_keys { |name| "pages/#{name}" }, "pages/none" => "" }
    views["pages/readme"] = "<% product = @product %>#{views["pages/readme"]}"
    controller(**views) do
      define_method(:show) { render(template: params[:view], layout: false) }
      before_action do
        @product, @products, @shops = test.records
        @shop = @shops.first
      end
      helper do
        define_method(:exchange_rate) { test.rate.call }
        define_method(:current_user) { test.user }
      end
    end
  end

  public

  attr_reader :rate, :user

  # Loaded before the view renders, as a controller does.
  def records = [@products.first, @products, @shops.each { |shop| shop.products.reset }]
end
