# frozen_string_literal: true

# For an application's tests:
#
#   class ActionDispatch::IntegrationTest
#     include Tiercel::Insight::TestHelper
#   end
#
#   test "the product page is up to date" do
#     get product_path(product)                         # fills the cache
#     product.update!(price: 12)
#     assert_cache_truthful { get product_path(product) }
#   end
module Tiercel::Insight::TestHelper
  # Checks every hit of `fetch`, and of `cache` in views, inside the block.
  #
  # Fails as well if there was no hit, as with the null_store of a new application's tests.
  #
  # @param except [Array<Regexp, String>] keys that are not checked
  # @return [Object] the block's value
  def assert_cache_truthful(except: [])
    audit = Tiercel::Insight.audit(1.0, except:, values: true)
    result = yield
    assert_predicate audit.checked, :positive?, "No hit was verified: is this a null_store, or an empty cache?"
    texts = audit.stale.map { |one| "#{one["class"]} (#{one["at"]}): #{one["difference"]}" }
    assert_empty texts, "The cache returned stale values:\n#{texts.join("\n")}"
    result
  ensure
    Tiercel::Insight.audit(nil)
  end
end
