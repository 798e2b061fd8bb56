# frozen_string_literal: true

class ApiController < ActionController::API
  # One value of 50 Hashes.
  def products
    render json: Rails.cache.fetch("api/products/v1", expires_in: 1.hour) { Product.first_ones(50).map(&:summary) }
  end
end
