# frozen_string_literal: true

# suites: store*
# quick

require_relative "support"
require "rails"
require "active_record"

# `invalidates_cache_tags`, and records as tags.
class ModelTagsTest < ViewTest
  Base = Class.new(ActiveRecord::Base) do
    self.abstract_class = true
    extend Tiercel::ModelTags
  end

  class Shop < Base
    has_many :articles, class_name: "ModelTagsTest::Article"
  end

  class Article < Base
    belongs_to :shop, touch: true, class_name: "ModelTagsTest::Shop"
    invalidates_cache_tags("articles", :shop) { ["kind:#{name}", nil] }
  end

  class Plain < Base
    self.table_name = "articles"
    invalidates_cache_tags
  end

  def setup
    super
    @rails_cache = Rails.cache
    Rails.cache = store
    Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    Base.connection.create_table(:shops) { |table| table.timestamps }
    Base.connection.create_table(:articles) { |table| [table.string(:name), table.references(:shop), table.timestamps] }
    @shop = Shop.create!
  end

  def teardown
    Base.remove_connection
    Rails.cache = @rails_cache
    super
  end

  def test_create_update_touch_and_destroy
    article = nil
    { create: -> { article = Article.create!(shop: @shop, name: "a") }, update: -> { article.update!(name: "b") },
      touch: -> { article.touch }, destroy: -> { article.destroy! } }.each do |name, change|
      store.write("list", 1, tags: ["articles"])
      store.write("shop", 1, tags: @shop)
      store.write("one", 1, tags: [article || "none"])
      change.call
      assert_nil store.read("list"), name
      assert_nil store.read("shop"), name
      assert_nil store.read("one"), name unless name == :create
    end
  end

  def test_a_rollback_invalidates_nothing
    article = Article.create!(shop: @shop, name: "a")
    store.write("one", 1, tags: article)
    Article.transaction { article.update!(name: "b") && raise(ActiveRecord::Rollback) }
    assert_equal 1, store.read("one")
    Article.transaction do
      article.update!(name: "c")
      assert_equal 1, store.read("one"), "not before the commit"
    end
    assert_nil store.read("one")
  end

  def test_a_block_and_a_record_as_tag
    article = Plain.create!(name: "x", shop_id: @shop.id)
    store.write("one", 1, tags: [article])
    store.write("two", 1, tags: "model_tags_test/plains/#{article.id}")
    store.invalidate_tags(Plain.find(article.id).tap { |other| other.updated_at += 60 })
    assert_nil store.read("one")
    assert_nil store.read("two")
    store.write("kind", 1, tags: "kind:z")
    Article.find(article.id).update!(name: "z")
    assert_nil store.read("kind")
  end

  def test_a_store_without_tags
    Rails.cache = ActiveSupport::Cache::NullStore.new
    assert Article.create!(shop: @shop, name: "a")
  end
end
