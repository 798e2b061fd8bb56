# frozen_string_literal: true

# The class method `invalidates_cache_tags` of Active Record models.
module Tiercel::ModelTags
  # Invalidates tags in `Rails.cache` after each commit that creates, updates, touches or destroys a record: the
  # record's own tag (model and id), and the given ones.
  #
  #   class Product < ApplicationRecord
  #     belongs_to :shop
  #     invalidates_cache_tags "products", :shop              # an association or method by its name
  #     invalidates_cache_tags { category_ids_previously_was } # or a block, run in the record
  #   end
  #
  # Statements without callbacks (`update_all`, `insert_all`, `delete_all`, SQL) invalidate nothing. Call
  # `Rails.cache.invalidate_tags` after them. Does nothing over a store without tags.
  #
  # @param tags [Array<String, Symbol>] a String is a tag; a Symbol is a method whose result is a tag, a record, nil,
  #   or a list of these
  # @yieldreturn [Object] like the result of such a method
  # @return [void]
  def invalidates_cache_tags(*tags, &block)
    after_commit do
      cache = Rails.cache
      if cache.respond_to?(:invalidate_tags)
        found = tags.map { |tag| tag.is_a?(Symbol) ? public_send(tag) : tag }
        found << instance_exec(&block) if block
        found = found.flat_map { |tag| tag.respond_to?(:to_ary) || tag.nil? ? tag.to_a : [tag] }
        cache.invalidate_tags(self, *found.compact)
      end
    end
  end
end
