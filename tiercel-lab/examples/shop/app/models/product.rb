# frozen_string_literal: true

class Product < ApplicationRecord
  scope :first_ones, ->(count) { order(:id).limit(count) }

  # This report costs too much to be made for each request.
  #
  # @return [Hash{String => Object}]
  def summary
    { "id" => id, "name" => name, "price" => price, "words" => description.split.tally.sort.first(8).to_h,
      "tags" => tag_list, "updated_at" => updated_at.iso8601 }
  end

  # A text of at least 8 KB.
  #
  # @return [Array<String>] its paragraphs
  def guide = Array.new((8_192.0 / description.bytesize).ceil) { |index| description.split.rotate(index).join(" ") }

  # @return [String]
  def price = format("%.2f", price_in_cents / 100.0)

  # @return [Array<String>]
  def tag_list = tags.split(",").sort
end
