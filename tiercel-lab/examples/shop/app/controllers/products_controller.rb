# frozen_string_literal: true

class ProductsController < ApplicationController
  # 50 fragments, read with one call.
  def index
    @products = Product.first_ones(50)
  end

  # 10 fragments of 8 KB, one after the other.
  def guides
    @products = Product.first_ones(10)
  end

  # 20 values by their records, one after the other.
  def summaries
    @summaries = Product.first_ones(20).map { |product| Rails.cache.fetch([product, "summary"]) { product.summary } }
  end

  # One fragment, and how often it was seen.
  def show
    @product = Product.find(params[:id])
    @views = Rails.cache.increment("views/#{@product.id}", 1, expires_in: 1.day)
  end
end
